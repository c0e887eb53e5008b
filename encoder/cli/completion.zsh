#compdef encoderscope
_encoderscope() {
  local -a found
  found=("${(@f)$(encoderscope __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  [[ -n "$found" ]] && compadd -a found || _files
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }
compdef _encoderscope encoderscope
