package postgres

import (
	"testing"

	"example.org/parley/store"
	"example.org/parley/store/storetest"
)

// TestConformance runs the contract of all stores.
func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Store {
		store, _ := opened(t)
		return store
	})
}

// TestShared runs the contract of several processes on one database.
func TestShared(t *testing.T) {
	t.Parallel()
	storetest.RunShared(t, func(t *testing.T) (one, other store.Store) {
		first, url := opened(t)
		return first, openedAt(t, url, Options{})
	})
}
