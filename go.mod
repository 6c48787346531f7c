module lockbench

go 1.26.8
