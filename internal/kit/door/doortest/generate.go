package doortest

//go:generate go tool gqlgen generate
