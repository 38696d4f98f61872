// Package cache sets the ways in which the field keeps rows in Redis beside the
// one of Tandian, under one harness: schemes of a few lines as they are taught,
// right ones and wrong ones, and libraries.
//
// A [Scheme] is one process of such a way. Four programs ask all of them the
// same questions: [Race] counts stale reads under random reads and writes,
// [Hot] what happens when a key that everybody reads expires, [Hit] and [Local]
// what a hit costs, and [Anomalies] forces single interleavings and says which
// scheme survives them.
//
// The harness has to be believed before its figures are: its tests assert that
// the schemes which are known to be wrong are seen to be wrong.
package cache
