package chaos

// Stage is where an injection takes place.
type Stage struct {
	Times Times
}
