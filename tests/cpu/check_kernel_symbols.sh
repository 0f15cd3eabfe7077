#!/bin/sh
# check_kernel_symbols.sh NM LIBRARY...: fails if a kernel unit (portable, avx2, avx512, avx512_vnni, avx512_bf16, amx, emulated) defines a weak or
# unique symbol, or uses the standard library. Such a symbol, compiled with the unit's instructions, could be linked in for
# the whole program and crash on a machine without them.
nm=$1
shift
units='/(portable|avx2|avx512|avx512_vnni|avx512_bf16|amx|emulated|emulated_tiles)\.cpp\.o: |:(portable|avx2|avx512|avx512_vnni|avx512_bf16|amx|emulated|emulated_tiles)\.cpp\.o:'
found=$("$nm" -A "$@" | grep -E "$units")
if [ -z "$found" ]; then
  echo "no kernel units in: $*"
  exit 1
fi
echo "$(echo "$found" | wc -l) symbols of kernel units"
shared=$(echo "$found" | grep -E ' [WVu] ')
standard=$(echo "$found" | grep -E ' U _Z(N[KVO]*S[tabiosd]|S[tabiosd]|n[wa]m|d[la]Pv)')
if [ -n "$shared$standard" ]; then
  echo "$shared" | "${CXXFILT:-c++filt}"
  echo "$standard" | "${CXXFILT:-c++filt}"
  exit 1
fi
