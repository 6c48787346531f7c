package charts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"lockbench/results"
)

// An ExistsError says that files are in the way.
type ExistsError struct{ Paths []string }

func (e *ExistsError) Error() string {
	text := fmt.Sprintf("%s exists", results.Printable(e.Paths[0]))
	if n := len(e.Paths) - 1; n > 0 {
		text += fmt.Sprintf(", and %d more of the charts", n)
	}
	return text
}

// Hint says what to do about it.
func (e *ExistsError) Hint() string {
	return "choose another directory, or replace the files with --force"
}

// Is makes it an fs.ErrExist.
func (e *ExistsError) Is(target error) bool { return target == fs.ErrExist }

// WriteFiles draws all charts of a report and writes each to DIR/NAME.svg; with
// several runs, the name begins with "run1-" and so on. It makes the directory.
// Without force an existing file is an *ExistsError, and nothing is written. It
// returns the paths.
func WriteFiles(dir string, force bool, rep *results.Report) ([]string, error) {
	var paths, exist []string
	var data [][]byte
	for i, r := range rep.Runs {
		all, err := Of(r)
		if err != nil {
			return nil, err
		}
		for _, c := range all {
			name := c.Name + ".svg"
			if len(rep.Runs) > 1 {
				name = fmt.Sprintf("run%d-%s", i+1, name)
			}
			path := filepath.Join(dir, name)
			if _, err := os.Lstat(path); err == nil {
				exist = append(exist, path)
			}
			paths, data = append(paths, path), append(data, c.File())
		}
	}
	if len(exist) > 0 && !force {
		return nil, &ExistsError{exist}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the directory of the charts: %w", err)
	}
	for i, path := range paths {
		if err := writeFile(path, force, data[i]); err != nil {
			return nil, fmt.Errorf("write a chart: %w", err)
		}
	}
	return paths, nil
}

func writeFile(path string, force bool, data []byte) error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if !force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	}
	f, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
