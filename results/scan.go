package results

import (
	"bytes"
	"encoding/json"
	"slices"

	fast "github.com/segmentio/encoding/json"
)

// hdrKey is how the Writer begins an encoded histogram.
var hdrKey = []byte(`"hdr":"`)

// dropHists takes the encoded histograms, which are most of a line, out of a
// sample, in place: "hdr":"HISTF..." becomes "hdr":"". A value that cannot be a
// histogram stays, so that it is refused.
//
// It cannot change what else the line says. In valid JSON the key's closing
// quote ends a string, so the digits of base64 after :" are a whole string, and
// no field of a Sample but Latency.HDR is called so. In a line that is not valid
// JSON what comes before the key decides, or what comes after: a string of those
// digits is as valid as an empty one.
func dropHists(line []byte) []byte {
	kept, rest := 0, line // line[:kept] is done
	for {
		i := bytes.Index(rest, hdrKey)
		if i < 0 {
			break
		}
		i += len(hdrKey)
		end := bytes.IndexByte(rest[i:], '"')
		if end < 0 {
			break
		}
		kept += copy(line[kept:], rest[:i])
		if !plausibleHist(rest[i : i+end]) {
			kept += copy(line[kept:], rest[i:i+end])
		}
		rest = rest[i+end:]
	}
	kept += copy(line[kept:], rest)
	return line[:kept]
}

// maxBrackets is the most brackets of a line that the faster decoder gets. It
// recurses without bound into fields that a Sample does not have, which 16 MiB of
// brackets would turn into the end of the process; encoding/json has a limit. A
// sample has a bracket a load phase and some ten others.
const maxBrackets = 1000

// folds are letters that encoding/json takes for s and k in the names of fields,
// as they are and escaped. The faster decoder does not.
var folds = [][]byte{[]byte("\u017f"), []byte("\u212a"), []byte(`\u017`), []byte(`\u212`)}

// decodeSample decodes a line into s, which is empty, as encoding/json does. What
// the faster decoder refuses is decoded again, for the error and in case that it
// refused too much, and so is what it is known to see otherwise;
// FuzzDecodeSample looks for more.
func decodeSample(line []byte, s *Sample) error {
	odd := slices.ContainsFunc(folds, func(f []byte) bool { return bytes.Contains(line, f) })
	if !odd && bytes.Count(line, []byte("["))+bytes.Count(line, []byte("{")) <= maxBrackets && fast.Unmarshal(line, s) == nil {
		return nil
	}
	*s = Sample{}
	return json.Unmarshal(line, s)
}
