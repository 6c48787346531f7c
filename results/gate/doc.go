// Package gate decides whether a new build may be released: it holds measured
// changes against rules and says pass, fail, or inconclusive.
//
// Everything in it is pure: no clock, no file, no randomness. The same
// functions decide while a paired session is measured, on a recorded session,
// on two files, and in studies that replay recorded pairs.
//
// While pairs are measured:
//
//	g, err := gate.New(rules, cells, budget) // err: a rule matches no cell
//	for some cell with g.Next(cell.Name) {
//		... measure one pair of it, add its samples to a pairs.Builder b ...
//		g.Update(b.Cell(cell.Name))
//	}
//	res := g.Result() // verdicts, with what is missing where there is none
//
// A budget below g.Plan().MinBudget() can prove nothing; refuse it before
// anything is measured. New wants all cells of the plan, skipped ones included. Next says whether a
// cell needs another pair; it ends at false for each cell, at the latest after
// budget pairs. Update may be called after any number of new pairs; the
// verdict does not depend on how often. Interrupt says that the session was
// stopped by hand.
//
// A recorded session is Replay, two files are Files, and a study calls
// Plan.Decide with log ratios.
package gate
