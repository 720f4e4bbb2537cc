// Package transfer moves a whole database from one store to another, and checks
// what has been moved.
package transfer
