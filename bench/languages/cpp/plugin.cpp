// The tools of the measured servers, in C++: the same as in C, with another compiler.
#include "../c/plugin.c"
