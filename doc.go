// Package parley holds the words of Parley: ids, errors, the domain with its
// state machines, canonical JSON and the hash chain, and the ports behind which
// databases, model providers, tools and runtimes stand. It imports the standard
// library only and is imported by every other package.
//
// The record is the product: a message is written once, in order, and never
// lost. Events, context windows, pages and statistics are derived from it.
package parley
