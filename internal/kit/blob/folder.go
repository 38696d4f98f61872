package blob

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// A folder spreads its files over others, named by the first two letters of theirs.
type folder struct {
	path string
	root *os.Root // nothing outside is reached, also by a link
}

func openFolder(path string) (*folder, error) {
	if err := os.MkdirAll(path, 0o750); err != nil {
		return nil, fmt.Errorf("make the folder of files: %w", err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("open the folder of files: %w", err)
	}
	f := &folder{path, root}
	if err = f.root.MkdirAll(drafts, 0o750); err == nil {
		err = f.sweep()
	}
	if err != nil {
		return nil, fmt.Errorf("look for drafts in the folder of files: %w", err)
	}
	return f, nil
}

const (
	drafts   = ".drafts"
	draftAge = time.Hour // no file takes as long to be written
)

// sweep removes drafts of processes that died.
func (f *folder) sweep() error {
	left, err := fs.ReadDir(f.root.FS(), drafts)
	if err != nil {
		return err
	}
	for _, draft := range left {
		info, err := draft.Info()
		if err != nil || time.Since(info.ModTime()) < draftAge {
			continue // it is gone, or somebody writes it
		}
		if err := f.remove(drafts + "/" + draft.Name()); err != nil {
			return err
		}
	}
	return nil
}

func (f *folder) String() string { return f.path }

// place is where a file lies.
func place(name string) (dir, path string) {
	dir = name[:min(2, len(name))]
	return dir, dir + "/" + name
}

// Put implements [Store]. The file gets its name once it is on the disk, and the name is on
// the disk when Put returns.
func (f *folder) Put(_ context.Context, name, _ string, content []byte) (err error) {
	if err := checkName(name); err != nil {
		return err
	}
	dir, path := place(name)
	if err := f.makeDir(dir); err != nil {
		return fmt.Errorf("store %s: %w", name, err)
	}
	draft := drafts + "/" + rand.Text()
	if err = f.write(draft, content); err == nil {
		err = f.root.Rename(draft, path)
	}
	if err == nil {
		err = f.sync(dir)
	}
	if err != nil {
		return fmt.Errorf("store %s: %w", name, errors.Join(err, f.remove(draft)))
	}
	return nil
}

// makeDir makes one of the folders that files are spread over.
func (f *folder) makeDir(dir string) error {
	err := f.root.Mkdir(dir, 0o750)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.sync(".")
}

// sync has what a folder names be on the disk.
func (f *folder) sync(dir string) error {
	d, err := f.root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (f *folder) write(path string, content []byte) error {
	file, err := f.root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// Get implements [Store].
func (f *folder) Get(_ context.Context, name string) (*File, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	_, path := place(name)
	file, err := f.root.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", name, errors.Join(err, file.Close()))
	}
	return &File{file, info.ModTime()}, nil
}

// Delete implements [Store].
func (f *folder) Delete(_ context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	_, path := place(name)
	if err := f.remove(path); err != nil {
		return fmt.Errorf("delete %s: %w", name, err)
	}
	return nil
}

func (f *folder) remove(path string) error {
	if err := f.root.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
