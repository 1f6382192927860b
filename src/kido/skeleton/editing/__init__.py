"""Editing of skeletons: bodies moved, copied, split off, removed, merged."""
