package charts

import (
	"strings"
	"unicode"
)

// Room of a name beside a plot, in pixels: in a file of panelWidth or
// facetWidth, and on a page, whose drawings are narrower.
const (
	fileRoom = 168
	pageRoom = 108
)

// pageWidth is that of a panel on a page. A phone of 390 pixels shows it at four
// fifths, with letters of 9 to 10 pixels; a desk has room for two or three.
const pageWidth = 440

// runeWidth is about the width of a letter of fontSize in the widest of the usual
// fonts. Readers' fonts differ, and an SVG cannot measure them.
func runeWidth(r rune) int {
	switch {
	case r >= 0x1100 && r < 0x1200 || r >= 0x2E80: // East Asian letters, pictures
		return 13
	case strings.ContainsRune("mwMW@%", r):
		return 12
	case strings.ContainsRune("ijlftrI.,:;|'!()[]- ", r):
		return 5
	case unicode.IsUpper(r) || r == '_':
		return 9
	}
	return 8
}

func textWidth(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// fit cuts s at its end to so many pixels. What is cut ends in an ellipsis.
func fit(s string, pixels int) string {
	if textWidth(s) <= pixels {
		return s
	}
	n := runeWidth('…')
	for i, r := range s {
		if n += runeWidth(r); n > pixels {
			return s[:i] + "…"
		}
	}
	return s
}

// widest is the room that texts take, at most room.
func widest(texts []string, room int) int {
	most := 0
	for _, s := range texts {
		most = max(most, min(room, textWidth(s)))
	}
	return most
}
