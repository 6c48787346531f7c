//go:build !linux

package cell

import "errors"

// CanPin says whether threads can be bound to processors here.
const CanPin = false

var errNoAffinity = errors.New("this platform does not bind threads to processors")

func pinThread(...int) error   { return errNoAffinity }
func affinity() ([]int, error) { return nil, errNoAffinity }
