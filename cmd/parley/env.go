package main

import "os"

// getenv reads the environment of commands.
func getenv(name string) string { return os.Getenv(name) }
