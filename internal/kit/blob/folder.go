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

// A folder is a Store on disk. It spreads files over subfolders, named by the first two letters
// of the file names.
type folder struct {
	path string
	root *os.Root // symbolic links cannot leave it
}

func openFolder(path string) (*folder, error) {
	if err := os.MkdirAll(path, 0o750); err != nil {
		return nil, fmt.Errorf("create blob folder: %w", err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("open blob folder: %w", err)
	}
	f := &folder{path, root}
	if err = f.root.MkdirAll(drafts, 0o750); err == nil {
		err = f.sweep()
	}
	if err != nil {
		return nil, fmt.Errorf("remove old drafts of blob folder: %w", err)
	}
	return f, nil
}

const (
	drafts   = ".drafts"
	draftAge = time.Hour // no write takes as long
)

// sweep removes the drafts of dead processes.
func (f *folder) sweep() error {
	left, err := fs.ReadDir(f.root.FS(), drafts)
	if err != nil {
		return err
	}
	for _, draft := range left {
		info, err := draft.Info()
		if err != nil || time.Since(info.ModTime()) < draftAge {
			continue // it was removed, or is being written
		}
		if err := f.remove(drafts + "/" + draft.Name()); err != nil {
			return err
		}
	}
	return nil
}

func (f *folder) String() string { return f.path }

// filePath returns the subfolder and the path of a file.
func filePath(name string) (dir, path string) {
	dir = name[:min(2, len(name))]
	return dir, dir + "/" + name
}

// Put implements [Store]. It syncs the content before the rename, and the subfolder before it
// returns.
func (f *folder) Put(_ context.Context, name, _ string, content []byte) (err error) {
	if err := checkName(name); err != nil {
		return err
	}
	dir, path := filePath(name)
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

// makeDir creates a subfolder.
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

// sync flushes the entries of a folder to disk.
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
	_, path := filePath(name)
	file, err := f.root.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("stat %s: %w", name, errors.Join(err, file.Close()))
	}
	return &File{file, info.ModTime()}, nil
}

// Delete implements [Store].
func (f *folder) Delete(_ context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	_, path := filePath(name)
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
