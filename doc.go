// Package parley holds the words of Parley: ids, errors, time and money, the domain
// with its state machines, canonical JSON and the hash chain. It imports the standard
// library only and is imported by every other package. The ports behind which
// databases, model providers, tools, runtimes and observers stand are packages of
// their own: store, model, tool, runner and observe.
//
// The record is the product: a message is written once, in order, and never
// lost. Events, context windows, pages and statistics are derived from it.
package parley
