go_table.o: src/symbol/go_table.c src/symbol/go_table.h

src/symbol/go_table.h:
