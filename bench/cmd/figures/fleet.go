package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"example.org/parley/bench"
	"example.org/parley/internal/pgtest"
)

// database makes a new database in the run's own PostgreSQL server, which keeps production settings: fsync and full
// page writes. The server starts with the first database and ends with the lab.
func (l *lab) database(ctx context.Context) (url string, err error) {
	if l.postgres == nil {
		if l.postgres, err = pgtest.Start(
			pgtest.Options{Durable: true, Settings: map[string]string{"shared_buffers": "1GB"}},
		); err != nil {
			return "", err
		}
	}
	l.databases++
	name := fmt.Sprintf("bench_%d", l.databases)
	err = l.postgres.Run(ctx, pgtest.Superuser, "postgres", "CREATE DATABASE "+name+" OWNER "+pgtest.Owner)
	return l.postgres.URL(pgtest.Owner, name), err
}

// postgresCPU returns the CPU time of all processes of the PostgreSQL server, including those that have ended.
func (l *lab) postgresCPU() (time.Duration, error) {
	raw, err := os.ReadFile(filepath.Join(l.postgres.Dir(), "data", "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(raw), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return 0, err
	}
	return bench.FamilyCPU(pid)
}

// fleet is several processes over one database.
type fleet []*parleyRun

// fleet starts processes over a new database.
func (l *lab) fleet(ctx context.Context, processes int, settings ...string) (fleet, error) {
	url, err := l.database(ctx)
	if err != nil {
		return nil, err
	}
	var f fleet
	for range processes {
		server, err := l.start(ctx, append([]string{"PARLEY_DATABASE_URL=" + url}, settings...)...)
		if err != nil {
			return nil, errors.Join(err, f.end())
		}
		f = append(f, server)
	}
	return f, nil
}

// CPU returns the CPU time of all processes.
func (f fleet) CPU() (sum time.Duration, err error) {
	for _, server := range f {
		used, err := server.CPU()
		if err != nil {
			return 0, err
		}
		sum += used
	}
	return sum, nil
}

func (f fleet) end() error {
	var errs []error
	for _, server := range f {
		errs = append(errs, server.end())
	}
	return errors.Join(errs...)
}

// turns returns the fleet as a target: each client keeps to one process.
func (f fleet) turns(ctx context.Context, agent string, clients int) (bench.Target, error) {
	target, err := f[0].turns(ctx, agent, clients)
	if err != nil {
		return target, err
	}
	first := target.Request
	target.Addrs = nil
	for _, server := range f {
		target.Addrs = append(target.Addrs, server.addr)
	}
	target.Request = func(client int) []byte {
		return []byte(strings.Replace(string(first(client)), "Host: "+f[0].addr, "Host: "+target.Addr(client), 1))
	}
	return target, nil
}
