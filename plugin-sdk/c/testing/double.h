/* Between the two halves of the double. */
#ifndef WHARF_DOUBLE_H
#define WHARF_DOUBLE_H

#include "../abi/wharf_abi.h"
#include "wharf_test.h"

/* A text that grows. */
typedef struct {
  char *at;
  size_t size;
} lines;

void lines_add(lines *to, const char *text, size_t size);
void lines_clear(lines *of);
wharf_abi_string_t owned(const char *text, size_t size);

#endif
