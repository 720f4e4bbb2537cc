// Package parley holds the words of Parley: ids, errors, time and money, the domain with its state machines, canonical
// JSON and the hash chain. It imports only the standard library, and every other package imports it. The ports to
// databases, model providers, tools, runtimes and observers are packages of their own: store, model, tool, runner and
// observe.
//
// The record is the product: a message is written once, in order, and never lost. Events, context windows, pages and
// statistics are derived from it.
package parley
