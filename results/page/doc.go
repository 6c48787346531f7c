// Package page writes a report as one HTML file: tables that sort and filter,
// charts, explanations. The file needs nothing else, and a policy inside it
// forbids it the network. It can be read without its script, printed, and read
// on a phone; it is dark or light as the reader's system is.
//
// The package knows how a page looks and nothing of results: package render
// says what is on it.
package page
