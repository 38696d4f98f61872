// Package door is the public face of a GraphQL server: whose request this is.
package door
