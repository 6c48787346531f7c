package page

// Chaos is what faults did to the locks of a run: a matrix with a mark a cell, and below it what must be said
// of single cells.
type Chaos struct {
	Summary, Controls string
	Parts             []ChaosPart
	Marks             []Entry // what they mean
	Locks             []Entry
	Lists             []ChaosList
	Bound             string // what "safe" is worth, "" = nothing was
	Heads             []string
	Figures           []ChaosFigures
	Words             []Entry // what the figures mean
	Timelines         []Timeline
}

// A ChaosPart is the matrix of the locks on some servers.
type ChaosPart struct {
	Title  string
	Heads  []ChaosHead
	Faults []ChaosFault
}

// A ChaosHead is the head of a lock's column. Servers is "" where the title says it.
type ChaosHead struct{ Lock, Servers string }

// A ChaosFault has a row for each policy.
type ChaosFault struct {
	Name string
	Rows []ChaosRow
}

// A ChaosRow has a cell for each column.
type ChaosRow struct {
	Policy string
	Cells  []ChaosCell
}

// A ChaosCell is a verdict. Kind colours it, and Mark says the same: "safe", "fence", "unsafe", "unknown", "skipped",
// "" = it was not run. Link is the ID of its figures, "" without any.
type ChaosCell struct {
	Kind, Mark, Time, Tip, Link string
	Differs                     bool
}

// A ChaosList is what is to be said of single cells.
type ChaosList struct {
	Title string
	Items []ChaosItem
}

// A ChaosItem is a line, and lines below it.
type ChaosItem struct {
	Text  string
	Lines []Entry
}

// ChaosFigures is a row of the table of all figures; the texts of the first Lefts columns are words.
type ChaosFigures struct {
	ID    string
	Kind  string
	Texts []string
}

// Lefts is how many of the columns of figures are words: lock, fault, policy, verdict.
const Lefts = 4

// Left reports whether a column of figures has words.
func (c *Chaos) Left(i int) bool { return i < Lefts }

// A Timeline is what happened in a round, in lines of text.
type Timeline struct{ Title, Text string }
