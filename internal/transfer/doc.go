// Package transfer moves a whole database from one store to another, row by row,
// and checks what has been moved. It owns the neutral description of the tables
// (Tables), the way of a copy (Copy), and what it means that two databases hold
// the same (Digest) and that a record is whole (Records). Each store owns its SQL:
// it shows its rows as an Archive and takes rows as a Destination.
//
// A copy is of a database on which nobody works. How far it is stands in the
// destination, written in the transaction of the rows themselves: whenever a copy
// is killed, the same command goes on behind the last row that is there. While it
// stands there, no server opens that database. What was copied is then read back,
// whole, on both sides.
package transfer
