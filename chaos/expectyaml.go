package chaos

import _ "embed"

// ExpectYAML is what theory says of each cell, as package chaos/expect reads it.
//
//go:embed expect.yaml
var ExpectYAML []byte
