// Customlock is lockbench with one lock more: a program of your own that
// measures a lock which lockbench does not know, next to those that it does.
package main

import (
	"os"

	"lockbench"
)

func main() { os.Exit(lockbench.Main(info())) }
