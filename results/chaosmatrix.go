package results

import (
	"cmp"
	"slices"
)

// A ChaosMatrix has a row for each fault and policy, and a column for each lock on its servers. A
// policy stands below the other of the same fault, so that what a check before each write is worth can be seen.
type ChaosMatrix struct {
	Columns []ChaosColumn
	Rows    []ChaosRow
	cells   map[chaosPlace]*ChaosVerdict
	family  map[ChaosColumn]int
}

// A ChaosColumn is a lock on a topology: all its cells are of the same servers.
type ChaosColumn struct{ Lock, Topology, Network string }

// A ChaosRow is a fault under a policy. Nth counts from 1: a run may have the same fault several times
// on a lock, with other parameters.
type ChaosRow struct {
	Fault, Policy string
	Nth           int
}

type chaosPlace struct {
	row    ChaosRow
	column ChaosColumn
}

// At is the cell of a row and a column, nil if it was not run.
func (m *ChaosMatrix) At(row ChaosRow, column ChaosColumn) *ChaosVerdict {
	return m.cells[chaosPlace{row, column}]
}

// Family tells columns apart whose policies have nothing in common: of leases, which a holder may check or
// not, of guarded writes, and of locks within a process.
func (m *ChaosMatrix) Family(column ChaosColumn) int { return m.family[column] }

func familyOf(policy string) int {
	switch i := slices.Index(policies, policy); i {
	case 0, 1:
		return 0
	case -1:
		return len(policies)
	default:
		return i
	}
}

// Part is the matrix of some of its columns, with the rows that they have.
func (m *ChaosMatrix) Part(columns []ChaosColumn) *ChaosMatrix {
	out := &ChaosMatrix{Columns: columns, cells: m.cells, family: m.family}
	for _, row := range m.Rows {
		if slices.ContainsFunc(columns, func(c ChaosColumn) bool { return m.At(row, c) != nil }) {
			out.Rows = append(out.Rows, row)
		}
	}
	return out
}

// Matrix arranges the cells of locks. Columns: those of one family and topology stand together, in the
// order of the run, and the project's own locks before those of other libraries. Rows: by whom the fault hits, then in the order
// of the run; careful before careless.
func (r *ChaosReport) Matrix() *ChaosMatrix {
	m := &ChaosMatrix{cells: map[chaosPlace]*ChaosVerdict{}, family: map[ChaosColumn]int{}}
	type rank struct{ group, peer, first int }
	columns, rows, places := map[ChaosColumn]rank{}, map[ChaosRow]rank{}, map[ChaosColumn]int{}
	faults := map[string]int{}
	for i, v := range r.Verdicts {
		at := chaosPlace{ChaosRow{v.Fault, v.Policy, 1}, ChaosColumn{v.Lock, v.Topology, v.Network}}
		for m.cells[at] != nil {
			at.row.Nth++
		}
		m.cells[at] = v
		servers := ChaosColumn{Topology: v.Topology, Network: v.Network}
		if _, ok := places[servers]; !ok {
			places[servers] = i
		}
		if _, ok := columns[at.column]; !ok {
			k := rank{group: places[servers], first: i}
			if v.Peer != "" {
				k.peer = 1
			}
			columns[at.column] = k
			m.Columns = append(m.Columns, at.column)
			m.family[at.column] = familyOf(v.Policy)
		}
		m.family[at.column] = min(m.family[at.column], familyOf(v.Policy))
		if _, ok := faults[v.Fault]; !ok {
			faults[v.Fault] = i
		}
		if _, ok := rows[at.row]; !ok {
			rows[at.row] = rank{group: slices.Index(hits, v.On), first: faults[v.Fault]}
			m.Rows = append(m.Rows, at.row)
		}
	}
	slices.SortStableFunc(m.Columns, func(a, b ChaosColumn) int {
		x, y := columns[a], columns[b]
		return cmp.Or(cmp.Compare(m.family[a], m.family[b]), cmp.Compare(x.group, y.group), cmp.Compare(x.peer, y.peer), cmp.Compare(x.first, y.first))
	})
	slices.SortStableFunc(m.Rows, func(a, b ChaosRow) int {
		x, y := rows[a], rows[b]
		return cmp.Or(cmp.Compare(x.group, y.group), cmp.Compare(x.first, y.first), cmp.Compare(a.Nth, b.Nth),
			cmp.Compare(slices.Index(policies, a.Policy), slices.Index(policies, b.Policy)))
	})
	return m
}

// The order of rows: whom a fault hits, and what the holder does. Words that a later version may have come first.
var (
	hits     = []string{"nothing", "holder", "next", "servers", "process"}
	policies = []string{"careful", "careless", "guarded", "plain"}
)
