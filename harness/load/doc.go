// Package load plans the requests of a workload, sends them, and turns the
// saved exchanges into latencies and rates. Measuring is pure: it needs the
// exchanges and nothing else, so a saved run gives the same numbers again.
package load
