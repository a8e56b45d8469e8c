package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/companion"
	"callgate/permissions"
	"callgate/proxy"
)

func newHubCommand(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "hub",
		Short: "Be the one address for people, with no host of its own",
		Long: `Of the callgate processes that share a data directory one is the hub: people's clients come to its address, and
reach all processes through it. The first that runs is the hub, and when it ends another takes over, at the same
address. Nobody has to start one.

Hub runs a process that is nothing else: it serves no host and judges no call. It keeps the address there while
no host runs callgate, so that a page can stay open. When another process is the hub already, it joins, and
takes over when that one ends. It runs until it is told to end.`,
		Example: `  callgate hub
  callgate hub --listen 127.0.0.1:7800
  callgate open --print`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.load()
			if err != nil {
				return err
			}
			return c.runHub(cmd)
		},
	}
}

// runHub serves people until the context ends.
func (c *config) runHub(cmd *cobra.Command) error {
	if c.Listen == "off" {
		return fmt.Errorf("a hub has to listen, and listen is off: use --listen %s, or leave it out", companion.DefaultAddress)
	}
	s := &sidecar{config: c}
	defer s.close()
	if err := s.openLog(); err != nil {
		return err
	}
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return fmt.Errorf("dataDir: %w", err)
	}
	credentials, err := companion.OpenCredentials(c.DataDir)
	if err != nil {
		return err
	}
	remote, err := c.remote()
	if err != nil {
		return err
	}
	server, err := companion.Listen(companion.Options{
		DataDir: c.DataDir, Address: c.Listen, Remote: remote, Version: version, Protocols: proxy.SupportedVersions(),
		Backend: onlooker{c.DataDir}, Freezer: frozenBy{c.DataDir}, Credentials: credentials, Logger: s.log,
	})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, server.Close)
	<-cmd.Context().Done()
	return nil
}

// onlooker is the backend of a hub of its own: nothing happens there, and the audit trail is everybody's.
type onlooker struct{ dataDir string }

var _ companion.Backend = onlooker{}

func (onlooker) Subscribe() gate.Subscription {
	return gate.NewSubscription(make(chan gate.Event), func() {})
}

func (onlooker) Answer(context.Context, string, gate.Answer) (bool, error) {
	return false, gate.ErrNotPending
}

func (onlooker) SetAutonomy(sessionID, _ string, _ audit.Author) error { return noSession(sessionID) }

func (onlooker) Cancel(sessionID string, _ audit.Author) error { return noSession(sessionID) }

func (onlooker) AddAgent(sessionID string, _ permissions.Agent, _ gate.AgentInfo, _ audit.Author) (string, error) {
	return "", noSession(sessionID)
}

func (onlooker) RemoveAgent(sessionID, _ string, _ audit.Author) error { return noSession(sessionID) }

func (onlooker) Sessions() []gate.SessionInfo { return nil }

func (onlooker) Pending() []*gate.Approval { return nil }

// Note writes to a log of this process' own.
func (o onlooker) Note(summary string, who audit.Author) (err error) {
	log, err := audit.Open(audit.Dir(o.dataDir), audit.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	_, err = log.Append(audit.Record{Event: audit.Control, By: who.By, From: who.From, Summary: summary})
	return err
}

func (onlooker) Upstreams() []companion.UpstreamState { return nil }

func (o onlooker) Audit(q companion.AuditQuery) ([]companion.AuditRecord, string, error) {
	return auditRecords(o.dataDir, q)
}

func noSession(id string) error { return fmt.Errorf("%w: %q", gate.ErrSession, id) }
