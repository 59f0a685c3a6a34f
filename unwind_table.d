unwind_table.o: src/symbol/unwind_table.c src/symbol/unwind_table.h \
  src/symbol/go_table.h

src/symbol/unwind_table.h:

src/symbol/go_table.h:
