import type { PlaybookPart } from '../../model/playbook/playbook.ts';
import { pieceRepositoryOf } from '../repository/pieces.ts';

/** Parts of a playbook's archive. */
export class PlaybookParts extends pieceRepositoryOf<PlaybookPart>('playbookParts') {}
