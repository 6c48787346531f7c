package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/goccy/go-yaml"

	"lockbench/internal/engine"
)

// maxSpecFile bounds a settings file, in bytes.
const maxSpecFile = 1 << 20

// readSpecFile reads a YAML file over the defaults in s. Unknown keys, wrong
// types and doubled keys are errors with line and column.
func readSpecFile(path string, s *engine.Spec) error {
	f, err := os.Open(path)
	if err != nil {
		return usageErr(fmt.Errorf("read settings: %w", err), "-f wants a YAML file, see README.md")
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSpecFile+1))
	if err != nil {
		return usageErr(fmt.Errorf("read settings: %w", err), "")
	}
	if len(b) > maxSpecFile {
		return usageErr(fmt.Errorf("read settings: %s is larger than %d bytes", path, maxSpecFile), "-f wants a YAML file, see README.md")
	}
	return decodeSpec(path, b, s)
}

// decodeSpec decodes the settings in b.
func decodeSpec(name string, b []byte, s *engine.Spec) error {
	if err := yaml.UnmarshalWithOptions(b, s, yaml.Strict()); err != nil {
		return usageErr(fmt.Errorf("%s:%w", name, &yamlError{err}), "keys are the names of the flags of lockbench run, see README.md")
	}
	return nil
}

// yamlError prints a YAML error as "LINE:COLUMN: what", without the excerpt.
type yamlError struct{ err error }

func (e *yamlError) Unwrap() error { return e.err }

func (e *yamlError) Error() string {
	var y yaml.Error
	if errors.As(e.err, &y) && y.GetToken() != nil {
		p := y.GetToken().Position
		return fmt.Sprintf("%d:%d: %s", p.Line, p.Column, y.GetMessage())
	}
	return " " + e.err.Error()
}
