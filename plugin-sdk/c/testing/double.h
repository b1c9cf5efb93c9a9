/* Shared by both files of the simulated host. */
#ifndef WHARF_DOUBLE_H
#define WHARF_DOUBLE_H

#include "../abi/wharf_abi.h"
#include "wharf_test.h"

/* A growable text. */
typedef struct {
  char *at;
  size_t size;
} lines;

void lines_add(lines *to, const char *text, size_t size);
void lines_clear(lines *of);
wharf_abi_string_t owned(const char *text, size_t size);

#endif
