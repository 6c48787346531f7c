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

// topologyProcess is the topology of locks that have no servers; "" is, too.
const topologyProcess = "in-process"

// Local reports whether the lock is within one process.
func (c ChaosColumn) Local() bool { return c.Topology == "" || c.Topology == topologyProcess }

// Column is where the verdict stands in a matrix.
func (v *ChaosVerdict) Column() ChaosColumn {
	return ChaosColumn{Lock: v.Lock, Topology: v.Topology, Network: v.Network}
}

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

// Matrix arranges the cells of locks. Columns of one family and topology stand together.
func (r *ChaosReport) Matrix() *ChaosMatrix {
	m := &ChaosMatrix{cells: map[chaosPlace]*ChaosVerdict{}, family: map[ChaosColumn]int{}}
	first := map[ChaosRow]*ChaosVerdict{}
	for _, v := range r.Verdicts {
		at := chaosPlace{ChaosRow{v.Fault, v.Policy, 1}, v.Column()}
		for m.cells[at] != nil {
			at.row.Nth++
		}
		m.cells[at] = v
		if _, ok := m.family[at.column]; !ok {
			m.Columns = append(m.Columns, at.column)
			m.family[at.column] = familyOf(v.Policy)
		}
		m.family[at.column] = min(m.family[at.column], familyOf(v.Policy))
		if first[at.row] == nil {
			m.Rows = append(m.Rows, at.row)
			first[at.row] = v
		}
	}
	slices.SortStableFunc(m.Columns, func(a, b ChaosColumn) int { return cmp.Compare(m.family[a], m.family[b]) })
	slices.SortStableFunc(m.Rows, func(a, b ChaosRow) int {
		x, y := first[a], first[b]
		if a.Fault == b.Fault { // the second time, under all policies, stands below the first
			return cmp.Or(cmp.Compare(a.Nth, b.Nth), r.order.rows(x, y))
		}
		return r.order.rows(x, y)
	})
	return m
}
