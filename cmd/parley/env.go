package main

import "os"

// getenv is the environment that commands read.
func getenv(name string) string { return os.Getenv(name) }
