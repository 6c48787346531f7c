package loop

// Section is what the generated loops run on.
type Section struct{}
