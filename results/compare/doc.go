// Package compare says by how much two sides differ, and how sure that is: two
// sets of runs (Compare), or the halves of a paired session (Paired).
//
// # The figures
//
// The ratio new/old of a metric is the median of the ratios of every new to
// every old repetition, which is the Hodges-Lehmann shift of the logarithms. The
// ratio of the two medians is not the same, and worse: its interval would need a
// model of how repetitions are distributed, while the bounds of this one come
// from inverting the very test that decides, so that figure, interval and
// decision agree; and it does not hang on the one or two repetitions in the
// middle. The medians are printed beside it, and their quotient may differ a
// little from it. In a paired session it is the Hodges-Lehmann estimate of the
// pairs' log ratios, for the same reasons.
//
// The probability p of each row is that of the Mann-Whitney test, in a paired
// session of the signed-rank test. They are corrected together, over all rows that
// have one, by Holm's method: over the whole table, a false "differs" has
// probability at most alpha. Controls (the null lock) are a family of their own: they
// cannot be better or worse, but when they differ, the machine did. An interval
// is of its row alone.
//
// Probability and interval are two sides of one statement: p is at most alpha
// exactly when the row's interval leaves out 1, equal values counting against a
// difference in both (package stat says why). A difference is shown, in the
// direction of the interval, only where both are so.
//
// Where the best that the repetitions could ever give would not survive the
// correction, the row says so: that is not "no difference".
//
// # What is not compared
//
// Numbers that were measured otherwise are no evidence: another dispatch, other
// threads, another workload of the same name, a fixed number of operations beside
// a fixed time. These are errors, not notes. Everything else that differs,
// host, toolchain, program, is named.
package compare
