package gqltest

//go:generate go tool gqlgen generate
