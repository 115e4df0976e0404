// Package parity compares what two builds answered to the same request: where
// their tokens part, whether a near-tie explains it, and how far their
// distributions are apart. It is pure, and all its numbers are in nats.
//
// A good kernel rewrite changes bits, so tokens may part wherever the two best
// candidates are almost equal. What comes after the first difference was
// generated from another text and is never compared token by token.
package parity
