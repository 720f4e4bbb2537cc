package postgres

import (
	"testing"

	"example.org/parley/store"
	"example.org/parley/store/storetest"
)

// The store keeps the contract of all stores.
func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Store {
		store, _ := opened(t)
		return store
	})
}

// Several processes on one database keep it together.
func TestShared(t *testing.T) {
	t.Parallel()
	storetest.RunShared(t, func(t *testing.T) (one, other store.Store) {
		first, url := opened(t)
		return first, openedAt(t, url, Options{})
	})
}
