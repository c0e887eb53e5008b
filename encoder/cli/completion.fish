function __encoderscope
  set -l found (encoderscope __complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null)
  if test -n "$found"
    printf '%s\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c encoderscope -f -a '(__encoderscope)'
