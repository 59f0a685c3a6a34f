elf_symbols.o: src/symbol/elf_symbols.c src/symbol/elf_symbols.h \
  src/base/array.h src/base/buf.h src/symbol/go_table.h

src/symbol/elf_symbols.h:

src/base/array.h:

src/base/buf.h:

src/symbol/go_table.h:
