// Package load makes load on a server and measures it: it plans the requests
// of a workload, sends them with a cap on how many are in flight, and turns
// the saved exchanges into latencies and rates.
//
// Measuring is pure: it needs the exchanges and nothing else, so a saved run
// gives the same numbers again.
package load
