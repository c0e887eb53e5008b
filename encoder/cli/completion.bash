_encoderscope() {
  local IFS=$'\n'
  COMPREPLY=($(encoderscope __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _encoderscope encoderscope
