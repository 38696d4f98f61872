// Written by scripts/codegen.mjs; do not edit.
