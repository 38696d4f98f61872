// Package e2e tests Tandian in a browser: the real program, embedded and on PostgreSQL and
// Redis, and the pages that it serves. The tests are the Playwright specs (*.spec.ts) in this
// folder. README.md explains how to write one. They need the build tag e2e:
//
//	make e2e
package e2e
