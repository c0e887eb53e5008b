function __encoderscope
  encoderscope __complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null
end
complete -c encoderscope -a '(__encoderscope)'
