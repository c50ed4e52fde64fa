#!/usr/bin/python3
"""An epoch of a PyTorch DataLoader over all files of a folder, shuffled.

dataloader.py FOLDER [WORKERS] [shuffled|sequential] [BATCH]
"""

import os
import sys

import torch
from torch.utils.data import DataLoader, Dataset


class Files(Dataset):
    def __init__(self, folder):
        self.paths = sorted(os.path.join(d, f) for d, _, names in os.walk(folder) for f in names)

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with open(self.paths[index], "rb") as file:
            data = file.read()
        return torch.tensor(sum(data[::512]), dtype=torch.int64)


def main(folder, workers="4", order="shuffled", batch="16"):
    torch.manual_seed(1)
    torch.set_num_threads(1)
    loader = DataLoader(Files(folder), batch_size=int(batch), shuffle=order == "shuffled",
                        num_workers=int(workers))
    print(sum(int(sums.sum()) for sums in loader))


if __name__ == "__main__":
    main(*sys.argv[1:])
