package blob

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
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
	return &folder{path, root}, nil
}

func (f *folder) String() string { return f.path }

// place is where a file lies.
func place(name string) (dir, path string) {
	dir = name[:min(2, len(name))]
	return dir, dir + "/" + name
}

// Put implements [Store]. The file gets its name once it is on the disk.
func (f *folder) Put(_ context.Context, name, _ string, content []byte) (err error) {
	if err := checkName(name); err != nil {
		return err
	}
	dir, path := place(name)
	if err := f.root.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("store %s: %w", name, err)
	}
	draft := dir + "/.draft-" + rand.Text()
	if err = f.write(draft, content); err == nil {
		err = f.root.Rename(draft, path)
	}
	if err != nil {
		return fmt.Errorf("store %s: %w", name, errors.Join(err, f.remove(draft)))
	}
	return nil
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
