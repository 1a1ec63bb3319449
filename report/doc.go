// Package report turns results into bytes: text for a terminal, JSON, and CSV.
// It does no arithmetic beyond scaling units; what is shown is in the Result.
package report
