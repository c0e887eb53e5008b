// Characters that are something else in a browser than in the library `tokenizers`, whose tables are of an
// older Unicode. Written by `python -m tests.site.unicode_tables`.

export const CHANGED = {
  // nonspacing marks
  mark:
    /[\u{7FD}\u{897}-\u{89F}\u{8CA}-\u{8E1}\u{9FE}\u{AFA}-\u{AFF}\u{B55}\u{C04}\u{C3C}\u{D00}\u{D3B}-\u{D3C}\u{D81}\u{EBA}\u{ECE}\u{1734}\u{180F}\u{1885}-\u{1886}\u{1ABF}-\u{1ACE}\u{1DF6}-\u{1DFB}\u{A82C}\u{A8C5}\u{A8FF}\u{A9BD}\u{10D24}-\u{10D27}\u{10D69}-\u{10D6D}\u{10EAB}-\u{10EAC}\u{10EFC}-\u{10EFF}\u{10F46}-\u{10F50}\u{10F82}-\u{10F85}\u{11070}\u{11073}-\u{11074}\u{110C2}\u{111C9}\u{111CF}\u{1123E}\u{11241}\u{1133B}\u{113BB}-\u{113C0}\u{113CE}\u{113D0}\u{113D2}\u{113E1}-\u{113E2}\u{11438}-\u{1143F}\u{11442}-\u{11444}\u{11446}\u{1145E}\u{1171E}\u{1182F}-\u{11837}\u{11839}-\u{1183A}\u{1193B}-\u{1193C}\u{1193E}\u{11943}\u{119D4}-\u{119D7}\u{119DA}-\u{119DB}\u{119E0}\u{11A01}-\u{11A0A}\u{11A33}-\u{11A38}\u{11A3B}-\u{11A3E}\u{11A47}\u{11A51}-\u{11A56}\u{11A59}-\u{11A5B}\u{11A8A}-\u{11A96}\u{11A98}-\u{11A99}\u{11C30}-\u{11C36}\u{11C38}-\u{11C3D}\u{11C3F}\u{11C92}-\u{11CA7}\u{11CAA}-\u{11CB0}\u{11CB2}-\u{11CB3}\u{11CB5}-\u{11CB6}\u{11D31}-\u{11D36}\u{11D3A}\u{11D3C}-\u{11D3D}\u{11D3F}-\u{11D45}\u{11D47}\u{11D90}-\u{11D91}\u{11D95}\u{11D97}\u{11EF3}-\u{11EF4}\u{11F00}-\u{11F01}\u{11F36}-\u{11F3A}\u{11F40}\u{11F42}\u{11F5A}\u{13440}\u{13447}-\u{13455}\u{1611E}-\u{16129}\u{1612D}-\u{1612F}\u{16F4F}\u{16FE4}\u{1CF00}-\u{1CF2D}\u{1CF30}-\u{1CF46}\u{1E000}-\u{1E006}\u{1E008}-\u{1E018}\u{1E01B}-\u{1E021}\u{1E023}-\u{1E024}\u{1E026}-\u{1E02A}\u{1E08F}\u{1E130}-\u{1E136}\u{1E2AE}\u{1E2EC}-\u{1E2EF}\u{1E4EC}-\u{1E4EF}\u{1E5EE}-\u{1E5EF}\u{1E944}-\u{1E94A}]/u,
  // marks
  combining:
    /[\u{7FD}\u{897}-\u{89F}\u{8CA}-\u{8D3}\u{9FE}\u{AFA}-\u{AFF}\u{B55}\u{C04}\u{C3C}\u{CF3}\u{D00}\u{D3B}-\u{D3C}\u{D81}\u{EBA}\u{ECE}\u{1715}\u{180F}\u{1ABF}-\u{1ACE}\u{1CF2}-\u{1CF3}\u{1CF7}\u{1DF6}-\u{1DFA}\u{A82C}\u{A8FF}\u{10D24}-\u{10D27}\u{10D69}-\u{10D6D}\u{10EAB}-\u{10EAC}\u{10EFC}-\u{10EFF}\u{10F46}-\u{10F50}\u{10F82}-\u{10F85}\u{11070}\u{11073}-\u{11074}\u{110C2}\u{11145}-\u{11146}\u{111C9}\u{111CE}-\u{111CF}\u{11241}\u{1133B}\u{113B8}-\u{113C0}\u{113C2}\u{113C5}\u{113C7}-\u{113CA}\u{113CC}-\u{113D0}\u{113D2}\u{113E1}-\u{113E2}\u{1145E}\u{1182C}-\u{1183A}\u{11930}-\u{11935}\u{11937}-\u{11938}\u{1193B}-\u{1193E}\u{11940}\u{11942}-\u{11943}\u{119D1}-\u{119D7}\u{119DA}-\u{119E0}\u{119E4}\u{11A01}-\u{11A0A}\u{11A33}-\u{11A39}\u{11A3B}-\u{11A3E}\u{11A47}\u{11A51}-\u{11A5B}\u{11A8A}-\u{11A99}\u{11D31}-\u{11D36}\u{11D3A}\u{11D3C}-\u{11D3D}\u{11D3F}-\u{11D45}\u{11D47}\u{11D8A}-\u{11D8E}\u{11D90}-\u{11D91}\u{11D93}-\u{11D97}\u{11EF3}-\u{11EF6}\u{11F00}-\u{11F01}\u{11F03}\u{11F34}-\u{11F3A}\u{11F3E}-\u{11F42}\u{11F5A}\u{13440}\u{13447}-\u{13455}\u{1611E}-\u{1612F}\u{16F4F}\u{16F7F}-\u{16F87}\u{16FE4}\u{16FF0}-\u{16FF1}\u{1CF00}-\u{1CF2D}\u{1CF30}-\u{1CF46}\u{1E08F}\u{1E130}-\u{1E136}\u{1E2AE}\u{1E2EC}-\u{1E2EF}\u{1E4EC}-\u{1E4EF}\u{1E5EE}-\u{1E5EF}]/u,
  // control characters
  control: /[\u{890}-\u{891}\u{8E2}\u{FFFD}\u{110CD}\u{13430}-\u{1343F}]/u,
  // punctuation
  punctuation:
    /[\u{61D}\u{9FD}\u{A76}\u{C77}\u{C84}\u{166D}\u{1B4E}-\u{1B4F}\u{1B7D}-\u{1B7F}\u{2E43}-\u{2E4F}\u{2E52}-\u{2E5D}\u{10D6E}\u{10EAD}\u{10F55}-\u{10F59}\u{10F86}-\u{10F89}\u{111C9}\u{113D4}-\u{113D5}\u{113D7}-\u{113D8}\u{1144B}-\u{1144F}\u{1145A}-\u{1145B}\u{1145D}\u{11660}-\u{1166C}\u{116B9}\u{1183B}\u{11944}-\u{11946}\u{119E2}\u{11A3F}-\u{11A46}\u{11A9A}-\u{11A9C}\u{11A9E}-\u{11AA2}\u{11B00}-\u{11B09}\u{11BE1}\u{11C41}-\u{11C45}\u{11C70}-\u{11C71}\u{11EF7}-\u{11EF8}\u{11F43}-\u{11F4F}\u{11FFF}\u{12FF1}-\u{12FF2}\u{16D6D}-\u{16D6F}\u{16E97}-\u{16E9A}\u{16FE2}\u{1E5FF}\u{1E95E}-\u{1E95F}]/u,
  // characters with parts
  NFD:
    /[\u{105C9}\u{105E4}\u{11383}\u{11385}\u{1138E}\u{11391}\u{113C5}\u{113C7}-\u{113C8}\u{11938}\u{16121}-\u{16128}\u{16D68}-\u{16D6A}]/u,
  // characters with compatible parts
  NFKD:
    /[\u{32FF}\u{A7F2}-\u{A7F4}\u{AB69}\u{105C9}\u{105E4}\u{10781}-\u{10785}\u{10787}-\u{107B0}\u{107B2}-\u{107BA}\u{11383}\u{11385}\u{1138E}\u{11391}\u{113C5}\u{113C7}-\u{113C8}\u{11938}\u{16121}-\u{16128}\u{16D68}-\u{16D6A}\u{1CCD6}-\u{1CCF9}\u{1E030}-\u{1E06D}\u{1F16C}\u{1FBF0}-\u{1FBF9}]/u,
};
